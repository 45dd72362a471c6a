from kindling.utils.bottleneck import main

main()
