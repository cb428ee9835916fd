BX2_new_twin_sameJ0D§AUN“>C
-†©‰>±þBš»’>„™n*™Õ‚> âÄ‚<>›>Q¦òøXN†>