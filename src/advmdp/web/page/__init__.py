"""The page that shows stores and services while they work, and lets visitors play.

Routes, all below the place where the application is mounted:

===========================  ======================================================================
``GET /``                    the page itself; views are parts of it: ``#/store/0``, ``#/play``
``GET /static/NAME``         style and scripts, some of which the reports share
``GET /live/overview``       events: all stores and services at a glance
``GET /live/store/N/CELL``   events: one store, with the curves of one cell (``-``: the liveliest)
``GET /live/service/NAME``   events: one service
``GET /live/play/JOB``       events: one run of the playground
``GET /live/catalogue``      what the playground offers, and its limits
``POST /live/play``          start a run; ``POST /live/play/JOB/stop`` ends it
``POST /live/token``         exchange the token for a cookie, where one is required
===========================  ======================================================================

A stream of events (``text/event-stream``) begins with the whole state and goes on with changes.  A
state is a table of sections, a section a table of entries::

    event: whole      data: {"summary": {"store": {...}}, "runs": {"uob-reps_...": {...}}, ...}
    event: change     data: {"set": {"runs": {"uob-reps_...": {...}}}, "drop": {"runs": ["..."]}}

An entry is replaced as a whole.  Whoever reconnects gets the whole state again.
"""
