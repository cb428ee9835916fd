BV6_newJCè8aÝ¤>ŒÑ
cmˆ>