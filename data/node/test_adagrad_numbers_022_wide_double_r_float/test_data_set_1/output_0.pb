BX_newJ ‰¶wfГ?КяJzYР?Зв"
Є,Ж?киUu­П?