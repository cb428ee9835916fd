BX_new_XG_zeroJ Li£€P¤>6EæAøä‚>ÑÄ^
^¸¢>y¨Í¯Rß >