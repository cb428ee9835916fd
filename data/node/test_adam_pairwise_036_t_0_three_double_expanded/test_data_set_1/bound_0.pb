BX1_newJkдвЙЦ|;фЯ╠R
t;