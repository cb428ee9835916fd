BV_newJ Їг·З€Ђ>©
нeЙ5‚>K°dеBn‡>ќвk=йнx>