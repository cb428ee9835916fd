BV_newJc~>+Áw>
­M¿‡É½