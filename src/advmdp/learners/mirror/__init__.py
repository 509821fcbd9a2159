"""Mirror descent on occupancy measures: UOB-REPS, O-REPS, UC-O-REPS and their kin."""
