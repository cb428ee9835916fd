B
X_second_TJ†šç>g‚¼¿¨Fç¾á>