B
V_now_readJq?‘éÎ¾Í|‰?<o±?