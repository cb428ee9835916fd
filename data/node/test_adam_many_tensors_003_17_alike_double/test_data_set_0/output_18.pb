BV2_newJOçJfó0Ç¿ç+Û
t1ä?