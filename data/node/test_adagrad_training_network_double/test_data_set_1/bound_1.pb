BW1_newJ@?¬F\Ä3D>QælZiD>ã‹ö[jD>¶0\ZÿD>+ƒj-
D>e±·SC>æ1D¿ÃD>”õ2›D>