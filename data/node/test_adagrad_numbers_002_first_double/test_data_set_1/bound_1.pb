BH_newJ y*^vºš<K,‚L
|›<)*	Ås<ÞF8oW<