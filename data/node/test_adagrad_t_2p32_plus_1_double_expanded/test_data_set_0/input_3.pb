BGJ X[hVî×?ÙcH„Ô?8íPñaè¿þS
|¨mö?