BH_new_VH_zeroJ ¹X
¾vÝ?ïZ¸ƒÊó?jv‘‘aù?V†rjX+@