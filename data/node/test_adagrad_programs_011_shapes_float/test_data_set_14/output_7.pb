BH_lastJ(TåoAVºå?
ûZAð3AG@Vƒ†?çŒ"@¤
@¨g@3	@