B
V_now_keptJq?‘éÎ¾Í|‰?<o±?