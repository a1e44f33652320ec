# The service and the command, from the wheel of this source.
#
#   docker build -t surepick .
#   docker run -p 8421:8421 -v surepick:/data surepick
#   docker run -v surepick:/data surepick surepick list
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
    pip wheel --no-cache-dir --wheel-dir /wheels -c constraints.txt '.[server,client,plot,postgres,mcp]'

FROM python:3.12-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels 'surepick[server,client,plot,postgres,mcp]'
RUN useradd --create-home --uid 10001 surepick && mkdir /data && chown surepick /data
USER surepick
WORKDIR /data
VOLUME /data
# Compiled code is kept with the studies, so that it is made once.
ENV SUREPICK_STORAGE=sqlite:////data/surepick.db NUMBA_CACHE_DIR=/data/.compiled
EXPOSE 8421
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8421/health')"]
# Inside of the container everything may be reached; outside, what docker publishes. Put TLS in front.
CMD ["surepick", "serve", "--host", "0.0.0.0", "--plain-http"]
