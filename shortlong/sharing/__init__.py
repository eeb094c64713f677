"""One server for several people: modes and their limits, who is who, shared runs, and the keeper of a job.

Nothing here knows Streamlit; ``ui/modes`` connects it with the session of a person.
"""
