BH1_new_twin_if_loopJ@x7à"v
=Bˆz­Æ×<"wéx§¤ü<øìÓYÞ<x7à"v
=Bˆz­Æ×<"wéx§¤ü<øìÓYÞ<