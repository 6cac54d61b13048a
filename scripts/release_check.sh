#!/usr/bin/env bash
# Build both distributions, install them in an empty environment without a network as docs/start.md says, and try them.
#
# usage: scripts/release_check.sh [WHEELHOUSE]
# WHEELHOUSE is a folder of wheels; without one it is downloaded first, which is all that needs a network.
# PYTHON names the interpreter, START=1 also runs every command of the Start page as it is printed, which takes minutes.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { printf '\n== %s\n' "$*"; }

wheelhouse=${1:-$work/wheelhouse}
if [ ! -d "$wheelhouse" ]; then
  say "wheelhouse"
  "$python" -m pip download --quiet --dest "$wheelhouse" --constraint "$root/constraints.txt" "$root" hatchling
fi
wheelhouse=$(cd "$wheelhouse" && pwd)
export PIP_NO_INDEX=1 PIP_FIND_LINKS=$wheelhouse PIP_DISABLE_PIP_VERSION_CHECK=1

say "build: sdist and wheel, and a wheel from the sdist"
"$python" -m venv "$work/builder"
"$work/builder/bin/pip" install --quiet hatchling
(cd "$root" && "$work/builder/bin/hatchling" build -t sdist -t wheel -d "$work/dist")
mkdir "$work/unpacked"
tar -xf "$work"/dist/*.tar.gz -C "$work/unpacked" --strip-components 1
(cd "$work/unpacked" && "$work/builder/bin/hatchling" build -t wheel -d "$work/again")
cmp "$work"/dist/*.whl "$work"/again/*.whl
ls -l "$work"/dist
"$work/builder/bin/python" -m zipfile -l "$work"/dist/*.whl | grep 'credwarp/py.typed'

say "install, as docs/start.md says, in an empty folder"
mkdir "$work/empty"
cp "$work"/dist/*.whl "$work/empty"
cd "$work/empty"
install=$(awk '/^```sh$/ {on = 1; next} /^```$/ {on = 0} on' "$root/docs/start.md")
# The page's python3 is the one under test.
install=${install//python3/$(command -v "$python")}
set +u
eval "$install" > install.log
set -u
unset PYTHONPATH

say "try"
credwarp --version
python -m credwarp --help > /dev/null
credwarp --show-completion bash | head -1
credwarp doctor
python - <<'CODE'
import time
start = time.process_time()
import credwarp
print(f"import credwarp: {time.process_time() - start:.2f} s")
assert time.process_time() - start < 1.5
CODE
credwarp plan > plan.toml
python - <<'CODE'
from credwarp.files import write_volume
from credwarp.phantom import pair
from credwarp.space import Grid

heads = pair((32, 32, 32), moving_grid=Grid.isotropic((30, 36, 34), 5.5))
for side in ("fixed", "moving"):
    scan = getattr(heads, side)
    write_volume(scan.image, f"{side}.nii.gz")
    write_volume(scan.labels, f"{side}_labels.nii.gz")
write_volume(heads.fixed.labels.with_data(heads.fixed.labels.data > 0), "fixed_mask.nii.gz")
CODE
credwarp --quiet register fixed.nii.gz moving.nii.gz -o checked --method map

if [ -n "${START:-}" ]; then
  say "every command of docs/start.md"
  awk '/^```console$/ {on = 1; next} /^```$/ {on = 0} on' "$root/docs/start.md" \
    | awk '/^\$ / {sub(/^\$ /, ""); print; more = /\\$/; next} more {print; more = /\\$/}' > commands
  while IFS= read -r command; do
    say "$command"
    SECONDS=0
    code=0
    eval "$command" || code=$?
    echo "exit code $code after $SECONDS s"
    # 4: finished, but not converged; said in the report, and not the package's failure.
    [ "$code" = 0 ] || [ "$code" = 4 ]
  done < <(sed -e ':a' -e '/\\$/N; s/\\\n//; ta' commands)
fi

say "sizes"
du -sh "$work/empty/env"
du -sh "$work"/empty/env/lib/python*/site-packages/credwarp
du -sh "$work"/empty/env/lib/python*/site-packages/torch
say "sound"
