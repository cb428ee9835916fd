BX1_newJ-!b˜°ˆ>.MHN
ÈŸ>