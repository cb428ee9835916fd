BV_newJ?
#◑>