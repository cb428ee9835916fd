B
X_new_twinJ07RVèõu‡>ÃeÍ³@õ‹>nw &i6’>²rø~ÕÑ“>Aó–}]ul>Êåûn7p>