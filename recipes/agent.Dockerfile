# An image with the agent, for daemonset.yaml and sidecar.yaml.
#
#   docker build -t geiger-agent -f recipes/agent.Dockerfile recipes
#
# --build-arg GEIGER=IMAGE names an image that has geiger under /opt/geiger, as in the Dockerfile
# beside this file.
ARG GEIGER=geiger:latest
FROM ${GEIGER} AS geiger

FROM debian:12-slim
# The libraries of the command, and the certificates that collectors are known by.
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      ca-certificates libcpp-httplib0.11 libcurl4 libncursesw6 libsqlite3-0 libzydis4.0 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=geiger /opt/geiger /opt/geiger
RUN install -d -m 700 -o nobody /spool
ENV PATH=/opt/geiger/bin:$PATH \
    STATE_DIRECTORY=/spool
USER nobody
ENTRYPOINT ["geiger", "agent"]
