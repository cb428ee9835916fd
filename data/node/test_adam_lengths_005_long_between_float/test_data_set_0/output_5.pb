BV3_newJ®
?