BH_newJ •›
ªD@²íİh4T@¯D¹kiy@aãvx@