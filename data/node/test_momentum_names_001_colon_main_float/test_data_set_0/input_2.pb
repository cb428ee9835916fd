Bvalue:XJtk¿¾åWõ¾~?™n
¿