BX1_new_twin_sameJ0@๕Yื TC>?Aำเ?YR>๙ฒÞi8V>ฒtฯ ํ่0>2V/WฦN>๐9
1>