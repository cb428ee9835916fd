BH_newJбе>oA¤>o╩╖>и
╨>