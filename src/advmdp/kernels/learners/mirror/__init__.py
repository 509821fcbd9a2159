"""Mirror descent on occupancy measures: update, estimators, late feedback, adaptive rates."""
