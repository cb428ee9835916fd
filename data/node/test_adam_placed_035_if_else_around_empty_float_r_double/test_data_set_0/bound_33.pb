BV1_new_twin_laterJ ÕÄ-rbù¢>0ªœX
¸¿>)RÿBOñÀ>‚ ÀO×>