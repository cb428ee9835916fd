"""Why a subject fails: the deviation that gives what it gave, on every failing case and against no passing one."""
