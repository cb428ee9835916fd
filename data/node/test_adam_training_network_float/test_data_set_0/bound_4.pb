BB2_newJÌ
í¼9B>