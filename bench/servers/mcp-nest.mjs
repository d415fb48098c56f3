// @ts-check
/** @rekog/mcp-nest 2 as its README shows it: a strategy, a controller, stateless Streamable HTTP, both eras. */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { McpController, McpStrategy, StreamableHttpTransport, Tool } from '@rekog/mcp-nest';
import { answer, toolsOf } from '../workload.mjs';

const [port, catalogue] = process.argv.slice(2);

class Consultas {}
for (const { name, title, description, input, output, annotations } of toolsOf(catalogue)) {
  const descriptor = { value: async () => answer(), writable: true, configurable: true };
  Object.defineProperty(Consultas.prototype, name, descriptor);
  Tool({ name, description, parameters: input, outputSchema: output, annotations: { title, ...annotations } })(
    Consultas.prototype,
    name,
    descriptor,
  );
}
McpController()(Consultas);

class AppModule {}
Module({ controllers: [Consultas] })(AppModule);

const mcp = new McpStrategy({ name: 'mcp-nest', version: '1.0.0', transports: [new StreamableHttpTransport()] });
const app = await NestFactory.create(AppModule);
mcp.setHttpAdapter(app.getHttpAdapter());
app.connectMicroservice({ strategy: mcp });
await app.startAllMicroservices();
await app.listen(Number(port), '127.0.0.1');
