B
V_negativeJpטp\Gҿ