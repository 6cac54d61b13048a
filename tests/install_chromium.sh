#!/bin/sh
# The browser that the report is tested in, where it can be had without asking; without it those tests skip.
if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    if apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core; then
        exit 0
    fi
fi >/dev/null 2>&1
echo "chromium and chromium-driver are not here and cannot be installed: the report is not tested in a browser."
