BH_new_VHJ ¹X
¾vÝ?ïZ¸ƒÊó?jv‘‘aù?V†rjX+@