BV1_newJ‹χο
fwt;ªύ6%ηv;