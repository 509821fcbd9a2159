"""A learner inside somebody's program: numbered episodes, explicit feedback, files that last."""

from advmdp.service.closing import Closing
from advmdp.service.feedback_io import Ticket
from advmdp.service.service import Service, open_service

__all__ = ["Closing", "Service", "Ticket", "open_service"]
