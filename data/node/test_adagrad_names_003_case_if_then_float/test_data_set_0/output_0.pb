BaBcDefghijklmnopJUŽ?”+9¿1ã½š
?