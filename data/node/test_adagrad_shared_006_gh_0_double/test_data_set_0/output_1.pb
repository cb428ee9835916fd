BH_newJ °eÎ³Åàõ?lM
©z#@/Áj¼ƒëü?vuÏån @