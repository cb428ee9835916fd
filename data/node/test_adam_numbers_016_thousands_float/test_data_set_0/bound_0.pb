BX_newJ ÚTÏF*|kB¤iS»òlB
†I©qB˜aOµ€øiB