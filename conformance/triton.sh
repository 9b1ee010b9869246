#!/bin/sh
# Starts a real Triton (2.51, CPU, Python backend) on this machine, for answers to compare with. Takes Triton's own flags.
#   TRITON_HOME   where its venv lives (default: triton in the temporary directory); made on first use with pip, about 200 MB
#   PYTHON        the Python to use: 3.9 to 3.13, with a shared library (default: python3)
set -eu
home=${TRITON_HOME:-${TMPDIR:-/tmp}/weir-triton}
if [ ! -f "$home/ready" ]; then
  "${PYTHON:-python3}" -m venv "$home/venv"
  "$home/venv/bin/pip" install --quiet 'nvidia-pytriton==0.7.0' >&2
  : > "$home/ready"
fi
python=$home/venv/bin/python
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
triton=$site/pytriton/tritonserver

# The Python backend looks for the stub of the running Python beside its library: a folder of links, with that stub in it.
backends=$home/backends
if [ ! -x "$backends/python/triton_python_backend_stub" ]; then
  mkdir -p "$backends/python"
  ln -sf "$triton"/backends/python/* "$backends/python/"
  rm -f "$backends/python/triton_python_backend_stub"
  install -m 755 "$triton/python_backend_stubs/$version/triton_python_backend_stub" "$backends/python/"
fi
libraries=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR"))')
export LD_LIBRARY_PATH="$site/nvidia_pytriton.libs:$libraries" PATH="$home/venv/bin:$PATH" PYTHONPATH="$site" TRITON_SERVER_CPU_ONLY=1 LC_ALL=C.UTF-8
exec "$triton/bin/tritonserver" --allow-gpu-metrics=false --backend-directory="$backends" --cache-directory="$triton/caches" "$@"
