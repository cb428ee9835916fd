BX_newJ<„ûr¤YÆ<™-wËÄz·<g¼j
'ž<