BV1J(S
cX’Œ?kå§h ﬁø