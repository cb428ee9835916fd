BAbcDefghijklmnopJ ,тя‚З)д?zА0хГ@‘‘(ч
@б"іњКX	@