BX_newJr‰.ttÌ>¹XÆ„Ý¼>{'D
ŒÄ¬>