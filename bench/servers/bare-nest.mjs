// @ts-check
/** A NestJS application with one controller, for the start times. */
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

class ReadyController {
  ready() {
    return { status: 'ok' };
  }
}
Get()(ReadyController.prototype, 'ready', Object.getOwnPropertyDescriptor(ReadyController.prototype, 'ready'));
Controller('ready')(ReadyController);

class AppModule {}
Module({ controllers: [ReadyController] })(AppModule);

const app = await NestFactory.create(AppModule);
await app.listen(Number(process.argv[2]), '127.0.0.1');
