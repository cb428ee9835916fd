BX13_newJ¿¿º¿ÈM
?