# The base can be any image with Node >= 22.15 on PATH. A tag moves: for a release give the digest that was tested,
#   docker build --build-arg BASE_IMAGE=node:24-bookworm-slim@sha256:…
# and write it into the release notes; `docker image inspect --format '{{index .RepoDigests 0}}' node:24-bookworm-slim` prints it.
ARG BASE_IMAGE=node:24-bookworm-slim

FROM ${BASE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
# The optional packages are Node and PostgreSQL for machines that have none.
RUN npm ci --omit=optional --ignore-scripts --no-audit --no-fund
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build

FROM ${BASE_IMAGE} AS production
ARG VERSION=2.0.0
WORKDIR /app
COPY package.json package-lock.json ./
RUN node -e "process.exit(require('./package.json').version === process.argv[1] ? 0 : 1)" "${VERSION}" \
  || { echo "VERSION=${VERSION} is not the version of package.json" >&2; exit 1; }
# No production package needs its install script. npm writes a whole SBOM only of a manifest without what is left out.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund \
  && npm pkg delete devDependencies optionalDependencies \
  && npm sbom --sbom-format=cyclonedx >sbom.cdx.json \
  && rm package-lock.json
COPY deploy/image/healthcheck.mjs ./
COPY --from=build /build/dist ./dist
# Any user may read, which is what OpenShift's arbitrary UIDs need; nobody but root may write.
RUN chmod -R u=rwX,go=rX /app

FROM ${BASE_IMAGE}
ARG VERSION=2.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="mcp-corp" \
  org.opencontainers.image.description="Corporate MCP server" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
# UV_THREADPOOL_SIZE: name look-ups of one source must not hold up those of another (architecture §4, law 9).
ENV NODE_ENV=production UV_THREADPOOL_SIZE=16
WORKDIR /app
COPY --from=production /app ./
# Numbers: `runAsNonRoot` cannot judge a name. Group 0 is the group of OpenShift's arbitrary UIDs.
USER 1000:0
EXPOSE 8000
STOPSIGNAL SIGTERM
# Patient: on a busy node the engine alone takes seconds to start the check, and who is late must not be killed for it.
HEALTHCHECK --interval=10s --timeout=10s --start-period=30s --retries=3 CMD ["node", "/app/healthcheck.mjs"]
ENTRYPOINT ["node", "--max-semi-space-size=16", "/app/dist/main.js"]
