BX4_newJªf5B>
ˆÖIC…>