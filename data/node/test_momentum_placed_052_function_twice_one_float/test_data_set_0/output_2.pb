B
V_new_sameJß§ä>h6?jÒ¹>·Þ=)µ‡?BkZ¾